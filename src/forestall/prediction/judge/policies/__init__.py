"""What is done about leaking memory, played in a closed loop."""
