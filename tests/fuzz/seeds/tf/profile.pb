
>

/device:GPU:0

a 	xÀ>

/gpu:0/stream:all

a:Relu 

x/cpu:0H