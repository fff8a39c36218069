inline foo x = 5; BEGIN { }
