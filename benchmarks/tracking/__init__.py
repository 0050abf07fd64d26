"""What asv tracks over commits. This folder holds nothing else, for asv imports every file of it."""
