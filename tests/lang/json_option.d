#pragma D option json
BEGIN { printf("%d", 5); }
