struct s { int a; };
struct s { int b; };
BEGIN { trace(1); }
// at 2:8
