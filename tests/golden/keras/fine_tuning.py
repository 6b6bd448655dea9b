import tensorflow as tf

train = tf.keras.preprocessing.image_dataset_from_directory("pets/train", image_size=(160, 160), batch_size=32)
valid = tf.keras.preprocessing.image_dataset_from_directory("pets/valid", image_size=(160, 160), batch_size=32)

base = tf.keras.applications.MobileNetV2(include_top=False, weights="imagenet", input_shape=(160, 160, 3))
base.trainable = False
model = tf.keras.Sequential([base, tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(1)])
rate = 1e-4
model.compile(
    optimizer=tf.keras.optimizers.Adam(learning_rate=rate),
    loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
first = model.fit(train, epochs=10, validation_data=valid)

base.trainable = True
for layer in base.layers[:100]:
    layer.trainable = False
model.compile(
    optimizer=tf.keras.optimizers.RMSprop(learning_rate=rate / 10),
    loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.save("pets")
second = model.fit(train, epochs=20, initial_epoch=first.epoch[-1], validation_data=valid)
