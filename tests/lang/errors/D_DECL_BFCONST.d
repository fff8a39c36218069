struct s { int a : x; };
BEGIN { trace(sizeof (struct s)); }
// at 1:20
