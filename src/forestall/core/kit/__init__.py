"""What every use case shares: parameters, folders, tables of a certifier, words of progress."""
