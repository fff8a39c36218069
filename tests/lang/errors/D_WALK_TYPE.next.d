struct s { int a; };
BEGIN { walk ((struct s *)0, it->a, 3) { trace(1); } }
// at 2:30
