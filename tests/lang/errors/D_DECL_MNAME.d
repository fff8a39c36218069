struct s { int a; char a; };
BEGIN { trace(1); }
// at 1:24
