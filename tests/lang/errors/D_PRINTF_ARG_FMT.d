BEGIN { printf(probename); }
