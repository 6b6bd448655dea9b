def shout(text):
    print(text.upper())
