BEGIN { normalize(@a, 5); }
