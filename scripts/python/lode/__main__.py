from lode import main

main()
