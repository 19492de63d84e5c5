// Colours of the reference by the reader's preference. A file of its own, because the page's policy allows no inline script.
const dark = matchMedia("(prefers-color-scheme: dark)");
const COLOURS = {
  light: {
    theme: "light",
    "bg-color": "#ffffff",
    "text-color": "#14213d",
    "primary-color": "#1d5fd1",
    "nav-bg-color": "#f7f9fc",
    "nav-text-color": "#33405c",
    "nav-hover-bg-color": "#e8eef9",
    "nav-hover-text-color": "#14213d",
    "nav-accent-color": "#1d5fd1",
  },
  dark: {
    theme: "dark",
    "bg-color": "#12161f",
    "text-color": "#e8edf7",
    "primary-color": "#7fb0ff",
    "nav-bg-color": "#181d29",
    "nav-text-color": "#c3cce0",
    "nav-hover-bg-color": "#242c3d",
    "nav-hover-text-color": "#ffffff",
    "nav-accent-color": "#7fb0ff",
  },
};
const paint = () => {
  const reference = document.querySelector("rapi-doc");
  for (const [name, value] of Object.entries(dark.matches ? COLOURS.dark : COLOURS.light))
    reference.setAttribute(name, value);
};
paint();
dark.addEventListener("change", paint);
