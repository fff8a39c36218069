BEGIN { @ = topk(101, 1); }
// at 1:18
