BEGIN { normalize(5, 5); }
