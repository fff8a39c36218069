struct s { int; };
BEGIN { trace(1); }
// at 1:12
