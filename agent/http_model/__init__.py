"""What every model behind an HTTP endpoint has in common, whatever its wire format: patience, errors, bytes, tries.

Above: `agent/models/`, whose families say how a request is written and how an answer is read. Below: httpx.
"""
