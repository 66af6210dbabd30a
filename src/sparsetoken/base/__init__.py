"""What all rooms rest on: checks of values, declared fields, files, tables, progress."""
