BEGIN { x = sizeof (void); }
