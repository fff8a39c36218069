struct s { char a : 9; };
BEGIN { trace(sizeof (struct s)); }
// at 1:17
