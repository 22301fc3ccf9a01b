"""Device and system files: read, validated, and shown as one table."""
