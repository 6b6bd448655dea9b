"""What counts the steps of training, where that is kept, and with which steps something happens."""
