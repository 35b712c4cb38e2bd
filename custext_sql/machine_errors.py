"""What the operating system says of a failure, in fixed words: the message around it may quote data."""

_FAILURES = {  # what the system says, and what is told
    "No space left on device": "the disk is full",
    "Disk quota exceeded": "the disk quota is used up",
    "File too large": "the file would become larger than is allowed here",
    "Permission denied": "permission denied",
    "Operation not permitted": "permission denied",
    "Read-only file system": "the file system is read-only",
    "Too many open files": "too many files are open",
    "Input/output error": "the disk cannot be read or written",
    "Cannot allocate memory": "there is not enough memory",
    "File name too long": "the name of the file is too long",
    "No such file or directory": "there is no such file or folder",
    "Not a directory": "a part of the path is a file, not a folder",
    "Is a directory": "expected a file, found a folder",
    "File exists": "a file or folder of that name is in the way",
    "Conflicting lock is held": "another process has the file open",
}


def tell_failure(message: str) -> str | None:
    """Return what went wrong, if a message has words of the operating system that are known."""
    return next((told for sign, told in _FAILURES.items() if sign.lower() in message.lower()), None)
