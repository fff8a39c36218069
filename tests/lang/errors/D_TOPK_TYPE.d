BEGIN { @ = topk(rand(), 1); }
// at 1:18
