
.
xPlaceholder*
dtype0*
shape:

cfx*
T0
I
pPartitionedCallc*
Tin
2*
Tout
2*
fR
g
T0
h
iIfpp*
Tin
2*
Tout
2*
then_branchR
f
T0*
else_branchR
g
T0
I
wWhilei*

T
2*
condR
f
T0*
bodyR
g
T0 
N

f
a"T
r"T"	
Ttype
nRelua*
TJT"
rn:activations:0
N

g
a"T
r"T"	
Ttype
nRelua*
TJT"
rn:activations:0