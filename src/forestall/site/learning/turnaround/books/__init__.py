"""What a book of promises is made of, beside its arrays."""
