"""Telling files that are no text by how they begin, and what to do with each instead of reading it."""

import codecs
from dataclasses import dataclass

_LOOKED_AT = 8192

_TEXT_ONLY = "read_file gives text only; look at it with a program in execute_command"
_ARCHIVE = "list what is in it with execute_command, as with tar -tf, unzip -l or zcat"
_PACKED_DOCUMENT = "it is a ZIP archive of XML files: take them out with execute_command, as with unzip -p"
_TO_UTF_8 = "convert it with execute_command, as with iconv -f {coding} -t UTF-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """What a file is that cannot be read as text, and what to do with it."""

    what: str
    advice: str


_PDF = Unreadable(what="a PDF document", advice="take its text out with execute_command, as with pdftotext FILE -")
_NOTEBOOK = Unreadable(
    what="a notebook",
    advice="print its cells with a few lines of Python in execute_command, or give offset and limit to see its JSON",
)
_BINARY = Unreadable(what="a binary file, not text", advice=_TEXT_ONLY)

# (where, what stands there, kind): the signatures that the formats' own specifications give.
_SIGNATURES: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image", _TEXT_ONLY),
    (0, b"\xff\xd8\xff", "a JPEG image", _TEXT_ONLY),
    (0, b"GIF8", "a GIF image", _TEXT_ONLY),
    (0, b"BM", "a BMP image", _TEXT_ONLY),
    (0, b"II*\0", "a TIFF image", _TEXT_ONLY),
    (0, b"MM\0*", "a TIFF image", _TEXT_ONLY),
    (0, b"\0\0\1\0", "an icon", _TEXT_ONLY),
    (8, b"WEBP", "a WebP image", _TEXT_ONLY),
    (4, b"ftypheic", "a HEIC image", _TEXT_ONLY),
    (4, b"ftypavif", "an AVIF image", _TEXT_ONLY),
    (4, b"ftyp", "a video or sound file (MP4)", _TEXT_ONLY),
    (0, b"\x1aE\xdf\xa3", "a video (Matroska or WebM)", _TEXT_ONLY),
    (8, b"AVI ", "a video (AVI)", _TEXT_ONLY),
    (0, b"FLV\1", "a video (FLV)", _TEXT_ONLY),
    (0, b"\0\0\1\xba", "a video (MPEG)", _TEXT_ONLY),
    (0, b"OggS", "a sound or video file (Ogg)", _TEXT_ONLY),
    (0, b"ID3", "a sound file (MP3)", _TEXT_ONLY),
    (0, b"fLaC", "a sound file (FLAC)", _TEXT_ONLY),
    (8, b"WAVE", "a sound file (WAV)", _TEXT_ONLY),
    (0, b"PK\3\4", "a ZIP archive", _ARCHIVE),
    (0, b"\x1f\x8b", "a gzip archive", _ARCHIVE),
    (0, b"BZh", "a bzip2 archive", _ARCHIVE),
    (0, b"\xfd7zXZ\0", "an xz archive", _ARCHIVE),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive", _ARCHIVE),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", _ARCHIVE),
    (257, b"ustar", "a tar archive", _ARCHIVE),
    (0, b"\x7fELF", "a compiled program", _TEXT_ONLY),
    (0, b"MZ", "a compiled program", _TEXT_ONLY),
    (0, b"\xca\xfe\xba\xbe", "a compiled class", _TEXT_ONLY),
    (0, b"\0asm", "a WebAssembly module", _TEXT_ONLY),
    (0, b"SQLite format 3\0", "an SQLite database", "look into it with Python's sqlite3 in execute_command"),
    (0, b"\xff\xfe\0\0", "UTF-32 text", _TO_UTF_8.format(coding="UTF-32")),
    (0, b"\xff\xfe", "UTF-16 text", _TO_UTF_8.format(coding="UTF-16")),
    (0, b"\xfe\xff", "UTF-16 text", _TO_UTF_8.format(coding="UTF-16")),
)
_ZIP = b"PK\3\4"
_PACKED = {".docx": "a Word document", ".xlsx": "an Excel workbook", ".pptx": "a PowerPoint document"}


def unreadable(path: str, content: bytes, *, ranged: bool) -> Unreadable | None:
    """What keeps a file from being read, by its name and how it begins; None for what looks like text.

    A notebook is text, but its cells drown in what they printed: it is given only when lines of it are asked for.
    """
    head = content[:_LOOKED_AT]
    if head.startswith(b"%PDF-"):
        return _PDF
    if path.endswith(".ipynb") and head.lstrip().startswith(b"{") and not ranged:
        return _NOTEBOOK
    if _is_text(head):
        return None
    if head.startswith(_ZIP) and (document := _PACKED.get(path[-5:].lower())):
        return Unreadable(what=document, advice=_PACKED_DOCUMENT)
    for offset, signature, what, advice in _SIGNATURES:
        if head.startswith(signature, offset):
            return Unreadable(what=what, advice=advice)
    return _BINARY if b"\0" in head else None


def _is_text(head: bytes) -> bool:
    """Whether it can be UTF-8 text; the last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\0" not in head
