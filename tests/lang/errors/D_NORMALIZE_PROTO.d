BEGIN { normalize(@a); }
