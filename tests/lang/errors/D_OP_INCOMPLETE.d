struct s;
struct s *p;
BEGIN { trace(p->a); }
// at 3:15
