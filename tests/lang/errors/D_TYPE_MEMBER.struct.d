struct s { int count; };
struct s x;
BEGIN { x.coumt = 1; }
// at 3:9
