"""What every subject needs and none owns."""
