struct s { int a; };
struct s x;
BEGIN { @[x] = count(); }
// at 3:11
