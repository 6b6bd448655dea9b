def folder_of(run):
    return "runs/" + run
