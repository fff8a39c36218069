typedef int uint8_t; BEGIN { }
