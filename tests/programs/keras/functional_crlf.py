# Two inputs, one output.
from tensorflow.keras.layers import Input, Dense, Concatenate
from tensorflow.keras.models import Model
from tensorflow.keras import optimizers
import numpy as np

def get_data( ):
    rs = np.random.RandomState( 4 )
    a = rs.randn( 256, 4 )
    b = rs.randn( 256, 3 )
    t = a[ :, :1 ] * b[ :, :1 ]
    return a, b, t

a, b, t = get_data( )

in_a = Input( shape = ( 4, ), name = 'a' )
in_b = Input( shape = ( 3, ), name = 'b' )
h = Concatenate( )( [ in_a, in_b ] )
h = Dense( 20, activation = 'relu' )( h )
out = Dense( 1 )( h )

model = Model( inputs = [ in_a, in_b ], outputs = out )
nadam = optimizers.Nadam( )     # default rate
model.compile( loss = 'mean_squared_error', optimizer = nadam )

hist = model.fit( [ a, b ], t, epochs = 4, batch_size = 16, validation_split = 0.25, verbose = 0 )
print( 'loss     %s' % hist.history[ 'loss' ] )
print( 'val_loss %s' % hist.history[ 'val_loss' ] )

model.save( 'two_inputs.h5' )
