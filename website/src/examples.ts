// The scripts to choose from: those of examples/, as the build puts them in.

import gradientTape from "../../examples/gradient_tape.py";
import kerasFit from "../../examples/keras_fit.py";
import mirrored from "../../examples/mirrored.py";
import monitored from "../../examples/monitored_session.py";
import session from "../../examples/session.py";

export interface Example {
  readonly file: string;
  readonly title: string;
  readonly text: string;
}

export const EXAMPLES: readonly Example[] = [
  { file: "keras_fit.py", title: "Keras: compile and fit", text: kerasFit },
  { file: "gradient_tape.py", title: "GradientTape: a loop of one's own", text: gradientTape },
  { file: "session.py", title: "TensorFlow 1: a session", text: session },
  { file: "monitored_session.py", title: "TensorFlow 1: a monitored session", text: monitored },
  { file: "mirrored.py", title: "MirroredStrategy: refused, with the reason", text: mirrored },
];
