struct s { int a : 3; };
struct s x;
BEGIN { trace(sizeof (x.a)); }
// at 3:15
