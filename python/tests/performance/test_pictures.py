"""The timeline of a report: made-up slices."""

from matplotlib.figure import Figure

from parallax.performance.pictures import timeline_picture
from parallax.picture import light
from parallax.tables import read_table


def drawn(tmp_path, rows):
    (tmp_path / "timeline.csv").write_text("worker,name,key,begin_s,end_s,device\n" + "".join(f"{row}\n" for row in rows))
    picture = timeline_picture(read_table(tmp_path / "timeline.csv"), ["step", "kernel"])
    figure = Figure()
    picture.draw(figure, light)
    (axes,) = figure.axes
    bars = {c.get_paths()[0].vertices[:, 1].mean() for c in axes.collections}
    return picture, [text.get_text() for text in axes.get_yticklabels()], axes.get_xlabel(), {round(float(y)) for y in bars}


def test_rows_without_slices_are_hidden_and_counted(tmp_path):
    picture, labels, axis, bars = drawn(tmp_path, ["3,step,,0.0,0.1,", "8,step,,0.1,0.2,", '14,kernel,,0.0,0.2,"gpu 0, stream 1"'])
    assert labels == ["worker 3", "worker 8", "gpu 0, stream 1"] and bars == {0, 1, 2}
    assert "12 rows without slices are not shown" in picture.caption and "12 rows without slices" in axis
    picture, labels, axis, _ = drawn(tmp_path, ["0,step,,0.0,0.1,", "1,step,,0.1,0.2,"])
    assert labels == ["worker 0", "worker 1"] and "not shown" not in picture.caption + axis
