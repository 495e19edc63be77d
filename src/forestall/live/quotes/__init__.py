"""What a user may choose from: offers held by a reservation, and those that rest on records."""
