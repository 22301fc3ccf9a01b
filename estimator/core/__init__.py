"""What every stage shares: errors, units, files, tables, the types that travel, draws and physics."""
