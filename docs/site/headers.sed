# Makes the headers readable to Doxygen: sed -E -f headers.sed
# The namespace that is inline in every room only tells builds for different processors apart.
s/::inline PRIMSEL_ABI//
# Code in a comment follows its sentence without a blank line.
$!N
s/^( *\/\/\/ [^ ].*)\n( *)(\/\/\/ {5,}[^ ])/\1\n\2\/\/\/\n\2\3/
P
D
