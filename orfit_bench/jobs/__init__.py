"""Jobs: worker processes, resumable runs with a journal, atomic files, and provenance of results."""
