BEGIN { @ = p(101, 5); }
