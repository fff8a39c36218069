struct s { string a : 9; };
BEGIN { trace(sizeof (struct s)); }
// at 1:19
