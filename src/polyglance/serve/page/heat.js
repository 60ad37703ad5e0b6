// The map of what matched: warm where it did, dark where it did not.

const DARK = [0, 0, 30], WARM = [255, 150, 0];
const COVER = { dark: 0.62, warm: 0.28 }; // how much of the picture is covered

export function draw(canvas, { rows, columns, cells }) {
  [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  cells.flat().forEach((value, place) => {
    const mix = (dark, warm) => dark + (warm - dark) * value;
    const colour = DARK.map((dark, index) => mix(dark, WARM[index]));
    image.data.set([...colour, 255 * mix(COVER.dark, COVER.warm)], 4 * place);
  });
  context.putImageData(image, 0, 0);
}
