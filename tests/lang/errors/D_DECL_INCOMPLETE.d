struct s;
struct s x;
BEGIN { trace(1); }
// at 2:10
