struct s { int a; struct s inner; };
BEGIN { trace(1); }
// at 1:28
