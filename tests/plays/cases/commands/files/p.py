import sys
print("python", sys.argv[1:])
