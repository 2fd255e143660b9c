"""What course.py does: the set-up, the learner's copies, the commands. Standard library only."""
