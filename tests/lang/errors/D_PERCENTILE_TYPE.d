BEGIN { @ = p(timestamp, 5); }
