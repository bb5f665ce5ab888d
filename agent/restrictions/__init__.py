"""What a person's own words forbid; they never grant anything."""

from agent.restrictions.words import Restrictions, announcement, restrictions_in

__all__ = ["Restrictions", "announcement", "restrictions_in"]
