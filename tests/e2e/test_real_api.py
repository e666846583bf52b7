def test_x(cluster):
    pass
